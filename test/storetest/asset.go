package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
)

func asset(t *testing.T, h Harness) {
	h.needsAssets(t)
	h.Publish(t, objects())
	for _, name := range []string{"assets/cni.tgz", "assets/v1.9.1/linux amd64+x/100%25 ü.tgz"} {
		h.PutAsset(t, name, 1000, 'x')
		body, size, err := h.Open(t, Cluster).Open(context.Background(), name)
		if err != nil {
			t.Fatalf("Open %q: %v", name, err)
		}
		data, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Errorf("read %q: %v", name, err)
		}
		if !bytes.Equal(data, bytes.Repeat([]byte{'x'}, 1000)) {
			t.Errorf("%q has %d bytes and not its content", name, len(data))
		}
		if size != 1000 && size != -1 {
			t.Errorf("size of %q is %d, want 1000, or -1", name, size)
		}
	}
}

func (h Harness) needsAssets(t *testing.T) {
	t.Helper()
	if h.PutAsset == nil {
		t.Skip("this store has no assets")
	}
}

func assetMissing(t *testing.T, h Harness) {
	h.Publish(t, objects())
	if _, _, err := h.Open(t, Cluster).Open(context.Background(), "assets/none"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "put it there") {
		t.Errorf("Open of nothing: %v; want ErrNotExist, and what to do", err)
	}
}

func assetOutside(t *testing.T, h Harness) {
	h.Publish(t, objects())
	if h.PutAsset != nil {
		h.PutAsset(t, "assets/a", 1, 'x')
	}
	s := h.Open(t, Cluster)
	for _, name := range []string{
		"", ".", "..", "/etc/passwd", "../" + Cluster + "/assets/a", "assets/../assets/a", "assets/../../x",
		"./assets/a", "assets//a", "assets/a/",
	} {
		if body, _, err := s.Open(context.Background(), name); err == nil {
			t.Errorf("Open %q was allowed: %v", name, body.Close())
		}
	}
}

// bigAsset reads more than a node wants to hold in memory at once.
func bigAsset(t *testing.T, h Harness) {
	h.needsAssets(t)
	const size, buffers = 64 << 20, 16 << 20
	h.Publish(t, objects())
	h.PutAsset(t, "assets/big", size, 'x')
	s := h.Open(t, Cluster)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body, _, err := s.Open(context.Background(), "assets/big")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n != size {
		t.Errorf("read %d bytes of %d", n, size)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > buffers {
		t.Errorf("reading %d bytes allocated %d: it does not stream", size, used)
	}
}

// cancelled calls with a context that has ended: the answer is its cause.
func cancelled(t *testing.T, h Harness) {
	h.Publish(t, objects())
	if h.PutAsset != nil {
		h.PutAsset(t, "assets/a", 1, 'x')
	}
	s := h.Open(t, Cluster)
	cause := errors.New("the pass was given up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := s.Fetch(ctx, statestore.Revision{}); !errors.Is(err, cause) {
		t.Errorf("Fetch: %v; want the cause", err)
	}
	if _, _, err := s.Open(ctx, "assets/a"); !errors.Is(err, cause) {
		t.Errorf("Open: %v; want the cause", err)
	}
	expect(t, fetch(t, s, statestore.Revision{}), objects()) // and the store is as good as before
}
