package cache

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBuiltOnce(t *testing.T) {
	t.Setenv("NETWRIGHT_CACHE", t.TempDir())
	var builds atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			dir, err := built("part", Key("recipe"), func(dir string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(dir, "content"), []byte("whole"), 0o644)
			}, t.Logf)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(filepath.Join(dir, "content")); err != nil || string(got) != "whole" {
				t.Errorf("content is %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	root := t.TempDir()
	t.Setenv("NETWRIGHT_CACHE", root)
	broken := errors.New("mirror is down")
	_, err := built("part", Key("recipe"), func(dir string) error {
		os.WriteFile(filepath.Join(dir, "content"), []byte("half"), 0o644)
		return broken
	}, t.Logf)
	if !errors.Is(err, broken) {
		t.Fatalf("err = %v, want the builder's", err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "part*[^k]")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKeySeparatesParts(t *testing.T) {
	if Key("ab", "c") == Key("a", "bc") {
		t.Error("recipes that differ have the same key")
	}
}
