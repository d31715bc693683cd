package files

import "os"

func lockDir(*os.Root) (unlock func(), err error) { return func() {}, nil }
