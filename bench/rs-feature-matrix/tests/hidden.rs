#[test]
fn hidden() {
    let a = Matrix::new(vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]).unwrap();
    let t = a.transpose();
    assert_eq!((t.get(0, 1), t.get(2, 0)), (4.0, 3.0));
    let p = a.mul(&t).unwrap();
    assert_eq!((p.get(0, 0), p.get(0, 1), p.get(1, 1)), (14.0, 32.0, 77.0));
    assert!(a.mul(&a).is_err());
    assert!(Matrix::new(vec![]).is_err());
    assert!(Matrix::new(vec![vec![1.0], vec![]]).is_err());
}
