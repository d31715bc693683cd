export function addMonths(date, n) {
  date.setMonth(date.getMonth() + n);
  return date;
}
