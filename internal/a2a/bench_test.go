package a2a

import (
	"fmt"
	"strings"
	"testing"
)

// longSession is a conversation of n turns, each of which reads a file of size
// bytes and says something about it.
func longSession(n, size int) (list []Exchange) {
	var history strings.Builder
	history.WriteString(`{"role":"user","content":"fix it"}`)
	file := quote(strings.Repeat("\tif err != nil {\n\t\treturn \"日本\", err\n\t}\n", size/40))
	for i := range n {
		x := recorded(int64(2*i+1), Anthropic, targets[Anthropic])
		x.Request = []byte(`{"model":"m","max_tokens":1024,"system":"You fix bugs.","messages":[` + history.String() + `]}`)
		blocks := fmt.Sprintf(`[{"type":"text","text":"I read file %d."},{"type":"tool_use","id":"toolu_%d","name":"read_file","input":{"path":"f%d.go"}}]`, i, i, i)
		x.Response = []byte(fmt.Sprintf(`{"id":"msg_%d","role":"assistant","content":%s,"stop_reason":"tool_use"}`, i, blocks))
		list = append(list, x)
		fmt.Fprintf(&history, `,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%s}]}`, blocks, i, file)
	}
	return list
}

// BenchmarkBuild is the tree of one stage: 200 turns of 3 kB, whose requests
// repeat 60 MB.
func BenchmarkBuild(b *testing.B) {
	list := longSession(200, 2600)
	size := int64(0)
	for _, x := range list {
		size += int64(len(x.Request) + len(x.Response))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		Build(list)
	}
}
