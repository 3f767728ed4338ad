mod feed;
mod history;
