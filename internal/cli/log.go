package cli

func startLog() func() { return func() {} }
