#[test]
fn hidden() {
    assert_eq!(mean(&[]), None);
    assert_eq!(mean(&[1, 2, 4]), Some(2));
    assert_eq!(mean(&[i64::MAX, i64::MAX]), Some(i64::MAX));
    assert_eq!(mean(&[i64::MIN, i64::MIN, i64::MIN]), Some(i64::MIN));
    assert_eq!(mean(&[-3, -4]), Some(-3));
}
