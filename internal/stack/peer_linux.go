package stack

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ownPeer says whether the process at the other end of a loopback connection is
// the user's own, or root's. A launch token stands in the arguments of the
// command that opens the browser, where every user of the machine can read it;
// none of them may be the one who uses it. A host that runs as root is opened by
// the browser of another user, and is not checked.
func ownPeer(remote string) bool {
	if os.Geteuid() == 0 {
		return true
	}
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, table := range []struct {
		file string
		addr []byte
	}{
		{"/proc/net/tcp", at.Addr().Unmap().AsSlice()},
		{"/proc/net/tcp6", mapped(at.Addr())},
	} {
		raw, err := os.ReadFile(table.file)
		if err != nil {
			continue
		}
		if uid, ok := uidOf(raw, table.addr, at.Port()); ok {
			return uid == 0 || uid == os.Geteuid()
		}
	}
	return false
}

func mapped(a netip.Addr) []byte { b := a.As16(); return b[:] }

// uidOf finds whose an established socket is by its own address. The kernel
// writes addresses in words of its byte order.
func uidOf(table, addr []byte, port uint16) (uid int, ok bool) {
	words := slices.Clone(addr)
	for i := 0; i+4 <= len(words); i += 4 {
		slices.Reverse(words[i : i+4])
	}
	local := strings.ToUpper(hex.EncodeToString(words)) + fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[1] != local || f[3] != "01" {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, err == nil
	}
	return 0, false
}
