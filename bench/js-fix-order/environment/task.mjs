export async function loadAll(names, load) {
  const out = [];
  const waiting = names.map(async (n) => {
    try { out.push(await load(n)); } catch {}
  });
  await Promise.all(waiting);
  return out;
}
