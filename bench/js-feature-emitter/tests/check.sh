cp /tests/hidden.test.mjs . && node --test hidden.test.mjs
