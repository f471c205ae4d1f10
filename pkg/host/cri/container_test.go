package cri

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

func TestContainersAreNamedByTheirImage(t *testing.T) {
	field := func(n int, data []byte) []byte {
		return append(binary.AppendUvarint([]byte{byte(n<<3 | 2)}, uint64(len(data))), data...)
	}
	id := strings.Repeat("ab", 32)
	one := bytes.Join([][]byte{field(1, []byte(id)), field(3, field(1, []byte("agent"))), field(4, field(1, []byte("registry.example/net:1")))}, nil)
	answer := append(field(1, field(1, []byte("other"))), field(1, one)...)
	if got := containerIn(answer, id); got != "container agent, image registry.example/net:1" {
		t.Errorf("containerIn returns %q, want %q", got, "container agent, image registry.example/net:1")
	}
	if got := containerIn(answer, "none"); got != "" {
		t.Errorf("of one that is not there %q", got)
	}
}
