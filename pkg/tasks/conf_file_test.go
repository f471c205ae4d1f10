package tasks

import (
	"strings"
	"testing"
)

// What is larger than a runtime reads is not read here either.
func TestLargeConfIsNotRead(t *testing.T) {
	conf, err := readConf(unreadFile{oneFile{content: make([]byte, maxConf+1)}, t}, "/etc/cni/net.d/00-a.conf")
	if err == nil || !strings.Contains(err.Error(), "it has 2097153 bytes, more than the 2097152 that containerd reads") {
		t.Errorf("%+v, %v", conf, err)
	}
}

// unreadFile is one that nobody may read.
type unreadFile struct {
	oneFile
	t *testing.T
}

func (v unreadFile) ReadFile(file string) ([]byte, error) {
	v.t.Errorf("%s was read", file)
	return v.content, nil
}
