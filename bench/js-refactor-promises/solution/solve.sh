#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
export async function report(store, id) {
  const user = await store.user(id);
  if (!user) throw new Error("no user " + id);
  const orders = await store.orders(user.id);
  return { name: user.name, orders: orders.length, sum: orders.reduce((sum, o) => sum + o.amount, 0) };
}
END
