// The theme is set before the first paint.
{
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
}
