pub fn mean(v: &[i64]) -> i64 {
    let mut sum = 0;
    for x in v {
        sum += x;
    }
    sum / v.len() as i64
}
