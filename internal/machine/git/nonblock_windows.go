package git

const nonblock = 0
