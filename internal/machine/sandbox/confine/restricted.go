package confine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// writerSID is the text of the SID that stands for writing a folder, on Windows: of the form of a machine's accounts,
// which are told apart by 96 bits. It depends on the folder, so that an entry that was left in another folder's access
// list gives no access to a command of this one.
func writerSID(path string) string {
	sum := sha256.Sum256([]byte("lathe sandbox\x00" + strings.ToLower(path)))
	part := func(i int) uint32 { return binary.LittleEndian.Uint32(sum[4*i:]) }
	return fmt.Sprintf("S-1-5-21-%d-%d-%d-%d", part(0), part(1), part(2), 1000+part(3)%1_000_000_000)
}
