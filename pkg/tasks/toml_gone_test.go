package tasks

import (
	"os"
	"testing"
)

// Somebody removed a file, and with it the keys in the file. Then no key is restored. What was
// there before the key, whether nothing or a value, does not prevent the end of a reset. The lines
// that keep it: toml_key.go, Restored and Restore (there).
func TestTOMLKeyOfAFileThatIsGone(t *testing.T) {
	for before, text := range map[string]string{"absent": "version = 2\n", "set": "[t]\nk = \"old\"\n"} {
		h, root := onDisk(t)
		file := root + "/config.toml"
		ok(t, os.WriteFile(file, []byte(text), 0o644))
		key := TOMLKey{Path: "/config.toml", Table: []string{"t"}, Key: "k", Value: "new"}
		was, err := key.Baseline(t.Context(), h.Live.View())
		ok(t, err)
		converge(t, h, key)
		ok(t, os.Remove(file))
		if right, err := key.Restored(t.Context(), h.Live.View(), was); err != nil || !right {
			t.Errorf("%s before: restored is %v, %v", before, right, err)
		}
		if err := key.Restore(t.Context(), h, was); err != nil {
			t.Errorf("%s before: %v", before, err)
		}
	}
}
