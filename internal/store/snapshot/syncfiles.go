package snapshot

// syncFiles makes the contents of staged files durable.
func syncFiles(staged map[string]string) {
	for _, temp := range staged {
		if f, err := openFile(temp); err == nil { // of a link nothing is to be synced
			_ = f.Sync()
			_ = f.Close()
		}
	}
}
