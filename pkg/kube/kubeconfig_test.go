package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Whoever renews a token in a kubeconfig need not restart the agent. The lines that keep it:
// kubeconfig.go, Client.
func TestAKubeconfigIsReadAgain(t *testing.T) {
	k := &Kubeconfig{Path: filepath.Join(t.TempDir(), "kubeconfig")}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(k.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(token string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://%s.example.com'}}]\nusers: [{name: u, user: {token: %s}}]\n"+
			"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", token, token)
	}
	if _, err := k.Client(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is there: %v", err)
	}
	write("a: [")
	if c, err := k.Client(); c != nil || err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is none: %v, %v", c, err)
	}
	write(with("first"))
	first, err := k.Client()
	if err != nil || first.Server() != "first.example.com" {
		t.Fatalf("%v, %v", first, err)
	}
	if again, err := k.Client(); again != first || err != nil {
		t.Errorf("one that has not changed is opened again (%v)", err)
	}
	write(with("second")[:40])
	if half, err := k.Client(); half != first || err != nil {
		t.Errorf("one that is being written: %v, %v", half, err)
	}
	write(with("second"))
	if second, err := k.Client(); err != nil || second.Server() != "second.example.com" {
		t.Errorf("%v, %v", second, err)
	}
	if err := os.Remove(k.Path); err != nil {
		t.Fatal(err)
	}
	if c, err := k.Client(); c != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that was taken away: %v, %v", c, err)
	}
}
