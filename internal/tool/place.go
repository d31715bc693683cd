package tool

import "github.com/lathe-dev/lathe/internal/permission/call"

// Here is this machine with the working folder, for the accesses of tools that are not built in.
func (e *Files) Here() call.Place { return e.place() }
