#[test]
fn hidden() {
    let got = words("The cat, the DOG; 2 cats... über Über the");
    let want = [("the", 3), ("über", 2), ("2", 1), ("cat", 1), ("cats", 1), ("dog", 1)];
    assert_eq!(got, want.map(|(w, n)| (w.to_string(), n)));
    assert!(words(" .,").is_empty());
}
