//! The embedded server and kube-apiserver with etcd, beside each other: `cargo bench -p refit-apiserver --bench servers`.
//!
//! Both wait for the disk before they acknowledge, both are asked over HTTPS by the same client, one after the other on
//! one machine. Ratios count, not numbers. `REFIT_BENCH_WRITES`, `_OBJECTS`, `_WATCHERS` and `_EVENTS` set the sizes.

mod ends;
mod list;
mod machines;
mod report;
mod sizes;
mod watch;
mod writes;

use ends::{Embedded, End, Real};
use report::{Column, Row};
use sizes::Sizes;

/// How many clients write at the same time.
const WRITERS: [usize; 3] = [1, 16, 64];

fn main() {
    if let Some(folder) = std::env::var_os(ends::FOLDER) {
        return ends::serve(folder.into());
    }
    let sizes = Sizes::from_environment();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime must start");
    let embedded = runtime.block_on(measure(&Embedded::start(), &sizes));
    let real = Real::start().map(|real| runtime.block_on(measure(&real, &sizes)));
    print!("{}", report::table(&embedded, real.as_ref()));
}

/// Everything that is measured, in an order that lets each step build on the one before.
async fn measure(end: &impl End, sizes: &Sizes) -> Column {
    let mut column = Column::default();
    column.set(Row::Ready, end.ready_after().as_secs_f64());
    machines::install(end).await;
    for writers in WRITERS {
        column.set(Row::Creates(writers), writes::creates(end, writers, sizes.writes).await);
    }
    for writers in WRITERS {
        column.set(Row::Updates(writers), writes::updates(end, writers, sizes.writes).await);
    }
    for writers in WRITERS {
        column.set(Row::Applies(writers), writes::applies(end, writers, sizes.writes).await);
    }
    column.set(Row::Events, watch::events(end, sizes.watchers, sizes.events).await);
    let before = end.resident_bytes();
    writes::fill(end, sizes.objects).await;
    let grown = end.resident_bytes().saturating_sub(before);
    column.set(Row::Memory, grown as f64 / 1024.0 / (sizes.objects as f64 / 1000.0));
    column.set(Row::List, list::seconds(end, sizes.objects).await);
    column
}
