package stack

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestPeerIsToldByItsSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	at := netip.MustParseAddrPort(c.LocalAddr().String())
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	if uid, ok := uidOf(raw, at.Addr().AsSlice(), at.Port()); !ok || uid != os.Geteuid() {
		t.Errorf("uid %d, %v", uid, ok)
	}
	if !ownPeer(at.String()) {
		t.Error("the user's own connection is refused")
	}
}

func TestOnlyTheSocketsOwnLineCounts(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:C001 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3
   2: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 2 1
   3: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1
short line
`
	const six = `   0: 0000000000000000FFFF00000100007F:C002 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 4 1
`
	local := netip.MustParseAddr("127.0.0.1")
	if uid, ok := uidOf([]byte(table), local.AsSlice(), 0xC001); !ok || uid != 1001 {
		t.Errorf("uid %d, %v", uid, ok)
	}
	if uid, ok := uidOf([]byte(six), mapped(local), 0xC002); !ok || uid != 1002 {
		t.Errorf("IPv4 through an IPv6 socket: uid %d, %v", uid, ok)
	}
	if _, ok := uidOf([]byte(table), local.AsSlice(), 0xC003); ok {
		t.Error("a connection that is not there has an owner")
	}
}
