package prompt

const nonblock = 0
