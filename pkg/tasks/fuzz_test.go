package tasks

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// oneFile is a view of a host with one file, whatever it is asked for.
type oneFile struct {
	host.View
	content []byte
}

func (v oneFile) Lstat(string) (host.FileInfo, error) {
	return host.FileInfo{Type: host.Regular, Size: int64(len(v.content))}, nil
}

func (v oneFile) ReadFile(string) ([]byte, error) { return v.content, nil }

func (v oneFile) ReadAtMost(string, int) ([]byte, error) { return v.content, nil }

func (v oneFile) ReadDir(string) ([]string, error) { return nil, host.ErrNotExist }

// FuzzConf reads anything that somebody may put into the CNI directory: what is taken for a conf has plugins with types.
func FuzzConf(f *testing.F) {
	for _, s := range []string{
		`{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"bridge","ipam":{"type":"host-local"}},{"type":"portmap"}]}`, `{"name":"n","type":"multus","delegates":[]}`,
		`{"name":"n","plugins":[]}`, `{"name":"n","plugins":[null]}`, `{"name":1}`, `[]`, `null`, "", "{", `{"name":"n","plugins":[{"type":"../../bin/sh"}]}`, `{"NAME":"n","Plugins":[{"TYPE":"a"}]}`,
		strings.Repeat("[", 20000), "\xff\xfe", `{"name":"\ud800","plugins":[{"type":"\u0000"}]}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, list bool) {
		name := "/etc/cni/net.d/10-x.conf"
		if list {
			name += "list"
		}
		conf, err := WaitConf{Consumer: Consumer{Beside: true}}.readConf(oneFile{content: content}, name)
		if err != nil {
			return
		}
		if len(conf.Plugins) == 0 {
			t.Fatalf("taken for a conf: %+v", conf)
		}
		for _, p := range conf.Plugins {
			if p.Type == "" {
				t.Fatalf("a plugin without a type: %+v", conf)
			}
		}
		for _, program := range conf.Programs() {
			binary := program.Name
			if strings.Contains(binary, "/") {
				t.Fatalf("a binary that leads out of its directory: %q", binary)
			}
		}
		conf.delegates()
	})
}

// FuzzTOML sets a key in any document: an error, or a document that has the key, and needs no second edit.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{
		"", "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"/x\" # why\n", "a = [1,\n2] # c\n[plugins]\n", "[[a]]\nb = {c = 1}\n", "plugins = {}\n",
		"x = \"\"\"\n[not.a.table]\n\"\"\"\n", "x = '''\n'''", "[a\n", "\x00", "a.b.c = 1979-05-27T07:32:00Z\r\n[plugins.'io.containerd.grpc.v1.cri']\r\n", "a = inf\nb = nan\n",
	} {
		f.Add([]byte(s))
	}
	key := tomlSetting{Table: []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}, Key: "conf_dir", Value: "/etc/cni/ours.d"}
	f.Fuzz(func(t *testing.T, text []byte) {
		edit, err := key.edit(text)
		if err != nil {
			return
		}
		again, err := key.edit(edit.text)
		if err != nil || !again.same {
			t.Fatalf("%q became %q: once more: %+v, %v", text, edit.text, again, err)
		}
	})
}
