package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/netwright/netwright/test/program"
)

// pauseImage builds the image from which containerd makes a pod's sandbox.
func pauseImage(t *testing.T) string {
	t.Helper()
	return image(t, "localhost/pause:1", program.Build(t, "test/e2e/testdata/pause"))
}

// image builds an image of this name, as an OCI archive, with one program that needs no other file.
// https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md
func image(t *testing.T, name, file string) string {
	t.Helper()
	entry, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	layer := tarOf(t, map[string][]byte{"entry": entry}, "entry")
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	blob := func(kind string, data []byte, annotations map[string]string) map[string]any {
		sum := sha256.Sum256(data)
		files["blobs/sha256/"+hex.EncodeToString(sum[:])] = data
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + hex.EncodeToString(sum[:]), "size": len(data), "annotations": annotations}
	}
	inner := sha256.Sum256(layer)
	config := blob("config.v1+json", text(t, map[string]any{"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Entrypoint": []string{"/entry"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(inner[:])}}}), nil)
	manifest := blob("manifest.v1+json", text(t, map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": config, "layers": []any{blob("layer.v1.tar", layer, nil)}}), map[string]string{"io.containerd.image.name": name})
	files["index.json"] = text(t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, tarOf(t, files, slices.Sorted(maps.Keys(files))...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tarOf(t *testing.T, files map[string][]byte, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
