package tomledit

import "testing"

// FuzzTOML sets a key in any document. The result is an error, or a document that has the key and
// needs no second edit.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{
		"", "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"/x\" # why\n", "a = [1,\n2] # c\n[plugins]\n", "[[a]]\nb = {c = 1}\n", "plugins = {}\n",
		"x = \"\"\"\n[not.a.table]\n\"\"\"\n", "x = '''\n'''", "[a\n", "\x00", "a.b.c = 1979-05-27T07:32:00Z\r\n[plugins.'io.containerd.grpc.v1.cri']\r\n", "a = inf\nb = nan\n",
	} {
		f.Add([]byte(s))
	}
	key := Setting{Table: []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}, Key: "conf_dir", Value: "/etc/cni/ours.d"}
	f.Fuzz(func(t *testing.T, text []byte) {
		edit, err := key.Set(text)
		if err != nil {
			return
		}
		again, err := key.Set(edit.Text)
		if err != nil || !again.Same {
			t.Fatalf("%q became %q: once more: %+v, %v", text, edit.Text, again, err)
		}
	})
}
