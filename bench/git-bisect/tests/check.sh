test "$(cat culprit.txt)" = a326cea89e62a9b102fcaefb42d0ae6047ff74d8
