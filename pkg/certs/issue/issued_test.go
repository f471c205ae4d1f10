package issue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// Only the file of an issued certificate has its keys. No printed form of the value has them.
func TestKeysAreInTheirFileAlone(t *testing.T) {
	const key, next = "KEY-IN-USE", "KEY-TO-COME"
	s := &issued{Name: "n", Cert: "CERT", Key: secret.New(key), Pending: &pending{Name: "r", CSR: "CSR", Key: secret.New(next)}}
	file, err := json.Marshal(s.file())
	if err != nil {
		t.Fatal(err)
	}
	var f issuedFile
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	if got := f.content(); got.Name != "n" || got.Cert != "CERT" || got.Key.Reveal() != key || got.Pending.CSR != "CSR" || got.Pending.Key.Reveal() != next {
		t.Errorf("of %s came %+v", file, got)
	}
	set := tasks.CertificateSet{Name: "n", Key: tasks.CertFile{Name: "n.key", PEM: []byte(key)}}
	for _, v := range []any{s, *s, s.Pending, s.pair(), []any{s.pair()}, set, tasks.File{Path: "/k", Content: []byte(key)}, tasks.Unit{Content: []byte(key)}} {
		core, said := observer.New(zap.DebugLevel)
		zap.New(core).Info("x", zap.Any("v", v))
		text, _ := json.Marshal(v)
		for _, shown := range []string{fmt.Sprint(v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%q", v), string(text), fmt.Sprint(said.All()[0].ContextMap())} {
			if strings.Contains(shown, "KEY-") || strings.Contains(shown, "75 69 89") || strings.Contains(shown, "S0VZ") {
				t.Errorf("%T: shown is %s", v, shown)
			}
		}
	}
}
