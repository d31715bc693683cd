export function report(store, id, callback) {
  store.user(id, (err, user) => {
    if (err) { callback(err); return; }
    if (!user) { callback(new Error("no user " + id)); return; }
    store.orders(user.id, (err, orders) => {
      if (err) { callback(err); return; }
      let sum = 0;
      orders.forEach((o) => { sum += o.amount; });
      callback(null, { name: user.name, orders: orders.length, sum });
    });
  });
}
