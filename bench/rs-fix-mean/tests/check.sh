cat task.rs /tests/hidden.rs > /tests/all.rs && rustc --edition 2021 --test -A warnings -o /tests/all /tests/all.rs && /tests/all
