//! Puts an applied configuration into an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::PathElement;
use super::types::{Items, Shape, Type};

/// The live value with the configuration in it; the configuration's leaves win. `None` where neither leaves anything.
///
/// Both must have passed [`super::typed::check`].
pub fn merge(live: Option<&Value>, config: Option<&Value>, of: Type<'_>) -> Option<Value> {
    let leaf = || config.or(live).cloned();
    match of.shape(config.or(live)) {
        Shape::Scalar => leaf(),
        Shape::Map => {
            let (live, config) = (live.and_then(Value::as_object), config.and_then(Value::as_object));
            let is_nothing = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
            if of.is_atomic_map() || (is_nothing(live) && is_nothing(config)) {
                return leaf();
            }
            merge_maps(live, config, of).map(Value::Object)
        }
        Shape::List => {
            let items = |value: Option<&'_ Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
            if matches!(of.items(), Items::Atomic) || items(live) + items(config) == 0 {
                return leaf();
            }
            merge_lists(live, config, of).map(Value::Array)
        }
    }
}

fn merge_maps(
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
    of: Type<'_>,
) -> Option<Map<String, Value>> {
    let mut merged = Map::new();
    for (name, value) in live.into_iter().flatten() {
        let applied = config.and_then(|config| config.get(name));
        let value = of.member(name).and_then(|member| merge(Some(value), applied, member));
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    for (name, value) in config.into_iter().flatten() {
        if live.is_some_and(|live| live.contains_key(name)) {
            continue;
        }
        let value = of.member(name).and_then(|member| merge(None, Some(value), member));
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    (!merged.is_empty()).then_some(merged)
}

/// The items of a list, each with what tells it from the others.
type Named<'a> = Vec<(PathElement, &'a Value)>;

fn named<'a>(list: Option<&'a Value>, of: Type<'_>) -> Named<'a> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| of.identity(item).ok().map(|element| (element, item))).collect()
}

/// Merges the items that both have. Shared items stand in the configuration's order; an item that only one side has
/// keeps its place behind the items that stood before it there.
fn merge_lists(live: Option<&Value>, config: Option<&Value>, of: Type<'_>) -> Option<Vec<Value>> {
    let (live, config) = (named(live, of), named(config, of));
    if live.iter().map(|(element, _)| element).eq(config.iter().map(|(element, _)| element)) {
        let pairs = live.iter().zip(&config);
        return Some(pairs.filter_map(|((_, live), (_, config))| merge(Some(live), Some(config), of.item())).collect());
    }
    let order = Order::new(&live, &config);
    let mut merged = Vec::with_capacity(live.len() + config.len());
    let (mut at_live, mut at_config) = (0, 0);
    while let Some(next) = order.next(&live, at_live, at_config) {
        match next {
            Next::SkipLive => at_live += 1,
            Next::Live => {
                merged.extend(merge(Some(live[at_live].1), None, of.item()));
                at_live += 1;
            }
            Next::Config { with_live } => {
                let (element, value) = &config[at_config];
                merged.extend(merge(order.only_live(element), Some(value), of.item()));
                at_live += usize::from(with_live);
                at_config += 1;
            }
        }
    }
    (!merged.is_empty()).then_some(merged)
}

/// Which item comes next in a merged list.
enum Next {
    /// The live item, which the configuration does not have.
    Live,
    /// The configuration's item, merged with the live one if there is one. `with_live`: and the live item is done.
    Config { with_live: bool },
    /// The live item comes, or came, in the configuration's place.
    SkipLive,
}

/// Where the items of two lists stand.
struct Order<'a> {
    /// The places in the configuration.
    config: BTreeMap<&'a PathElement, usize>,
    /// The live items; `None` for those that repeat, which are not merged with anything.
    live: BTreeMap<&'a PathElement, Option<&'a Value>>,
    /// For every place in the configuration the next place, from there, of an item that is live, too.
    shared: Vec<Option<usize>>,
}

impl<'a> Order<'a> {
    fn new(live: &'a Named<'a>, config: &'a Named<'a>) -> Self {
        let mut seen: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
        for (element, value) in live {
            seen.entry(element).and_modify(|value| *value = None).or_insert(Some(value));
        }
        let places: BTreeSet<usize> = (0..config.len()).filter(|&place| seen.contains_key(&config[place].0)).collect();
        let shared = (0..=config.len()).map(|from| places.range(from..).next().copied()).collect();
        Self {
            config: config.iter().enumerate().map(|(place, (element, _))| (element, place)).collect(),
            live: seen,
            shared,
        }
    }

    fn only_live(&self, element: &PathElement) -> Option<&'a Value> {
        self.live.get(element).copied().flatten()
    }

    fn next(&self, live: &Named<'_>, at_live: usize, at_config: usize) -> Option<Next> {
        let has_config = at_config < self.config.len();
        let Some((element, _)) = live.get(at_live) else {
            return has_config.then_some(Next::Config { with_live: false });
        };
        let Some(&place) = self.config.get(element) else {
            return Some(Next::Live);
        };
        Some(match self.shared[at_config] {
            _ if !has_config => Next::SkipLive,
            Some(shared) if shared == place => Next::Config { with_live: place == at_config },
            Some(_) => Next::SkipLive,
            None => Next::Config { with_live: true },
        })
    }
}
