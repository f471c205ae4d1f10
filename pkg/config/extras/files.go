package extras

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
)

const (
	defaultFileMode = fs.FileMode(0o440)                             // kOps' default
	defaultFileDir  = "/srv/kubernetes/assets/"                      // kOps' default
	othersMayRead   = fs.FileMode(0o004)                             // without this bit the content counts as secret
	unitSuffixes    = ".service .socket .timer .mount .path .target" // the types of units that a hook may be
)

const aboutRoles = "Only nodes of these roles get it. Without it, all nodes get it"

// Meant reports whether entries for some roles and some node groups are for the node that reads
// them. An empty list means all.
type Meant func(roles, groups []string) bool

// Files reads spec.fileAssets. stored has the files of the store that entries name with source,
// sorted.
func Files(to *[]FileAsset, stored []blob.Named, meant Meant) decode.Field {
	return decode.Field{Name: "fileAssets", Set: func(v decode.Reading) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(f FileAsset) string { return f.Path })
		v.List(func(item decode.Reading) {
			at := item.At(item.Value, item.Path+".path")
			all := slices.DeleteFunc(fileAsset(item, stored, meant), func(f FileAsset) bool { return !at.First(seen, f.Path) })
			if len(*to) == 0 {
				*to = all // without a copy, because there may be ten thousand
				return
			}
			*to = slices.Grow(*to, len(all))
			for _, f := range all {
				put(f)
			}
		})
	}}
}

// fileAsset reads one entry: a file, or each file of a directory of the store. It returns none if
// the entry is wrong or for other nodes.
func fileAsset(v decode.Reading, stored []blob.Named, meant Meant) []FileAsset {
	f := FileAsset{Mode: defaultFileMode, Origin: v.Origin()}
	var content, source string
	var isBase64 bool
	var secret *bool
	var roles, groups []string
	before := v.Doc.Errors
	v.Mapping([]decode.Field{
		decode.Text("name", &f.Name, decode.ValidFileName),
		decode.AbsolutePath("path", &f.Path),
		decode.Text("content", &content, nil),
		decode.Text("source", &source, validFileSource).
			About("Names the content in the store: a file, or a directory whose files all go below `path`. Set either " +
				"`content` or `source`"),
		decode.Bool("isBase64", &isBase64).About("true means that `content` is base64, for content that is not text"),
		{Name: "mode", Set: fileMode(&f.Mode)},
		decode.Text("owner", &f.Owner, validOwner),
		decode.OptionalBool("secret", &secret),
		decode.Each("roles", &roles, kops.Role).About(aboutRoles),
		decode.Texts("nodeGroups", &groups, decode.ValidName).
			About("Only nodes of these groups get the file. Without it, all nodes get it"),
	})
	if v.Get("source") == nil && !v.Required("content") {
		return nil
	}
	if f.Path == "" && f.Name != "" {
		f.Path = defaultFileDir + f.Name
	}
	if f.Path == "" {
		v.Required("path")
		return nil
	}
	if dir, hint := notForFiles(f.Path); dir != "" {
		v.Field("path").Bad("a path outside of "+dir, hint)
	}
	if v.Checks && slices.Contains(everyHosts, f.Path) {
		v.Field("path").Bad("the path of a file", "that is a directory on every node: name the file in it")
	}
	f.Secret = f.Mode&othersMayRead == 0
	stated := v.Get("mode") != nil // kOps' default mode does not make the content a secret
	if secret != nil {
		f.Secret, stated = *secret, true
	}
	if f.Secret && stated && v.Get("content") != nil && v.Doc.Errors == before {
		inlineSecret(v.Field("content"))
	}
	var all []FileAsset
	switch {
	case v.Get("source") == nil:
		all = writtenFile(v, f, content, isBase64)
	case v.Get("content") != nil || v.Get("isBase64") != nil:
		v.Field("source").Error(
			document.Diagnostic{Summary: v.Path + " has a source beside its content",
				Expected: "one of content and source"})
	case source != "":
		all = storedFiles(v, f, source, stored)
	}
	refuseFiles(v, all)
	if !meant(roles, groups) {
		return nil
	}
	return all
}

// refuseFiles marks the files of one entry that the rule refuses: see [reservedFile].
func refuseFiles(v decode.Reading, all []FileAsset) {
	said := v.Field("path")
	if said.Value == nil {
		said = v.Field("name")
	}
	if dir, _ := notForFiles(said.Str()); dir != "" {
		return // it is an error on nodes too
	}
	for i := range all {
		f := &all[i]
		if why := reservedFile(f.Path); why != "" {
			what := f.Path + " is " + why
			if f.Path == said.Str() {
				what = "that is " + why
			}
			f.Refused = refuse(said, what, "a path outside of what the agent, the boot and the logins need",
				"take it out of the documents")
			continue
		}
		if !readBySystemd(f.Path) {
			continue
		}
		if text, err := f.Content.Bytes(); err == nil { // otherwise it cannot be written either
			if why := reservedText(string(text)); why != "" {
				f.Refused = refuse(said, f.Path+" says "+why, "a unit that leaves that one alone",
					"take the line out")
			}
		}
	}
}

// notForFiles returns in which directory no file of a user may be, and what to do instead: the
// kernel's own file systems, where no file can be renamed into place, and where the agent keeps
// what it needs to undo changes.
func notForFiles(at string) (dir, hint string) {
	for _, dir := range []string{"/proc", "/sys", hostfs.StateDir, "/run/netwright", "/usr/bin/netwright",
		"/usr/local/bin/netwright", "/opt/netwright", "/var/opt/netwright"} {
		switch {
		case at != dir && !strings.HasPrefix(at, dir+"/"):
		case dir == "/proc":
			return dir, "a kernel parameter goes into spec.sysctlParameters"
		case dir != "/sys":
			return dir, "that is the agent's own"
		default:
			return dir, "a unit of spec.hooks can write there"
		}
	}
	return "", ""
}

// everyHosts are directories that every host has, so that no file can replace them: hier(7).
var everyHosts = strings.Fields("/bin /etc /home /lib /mnt /opt /root /run /sbin /srv /tmp /usr /var /etc/cni " +
	"/etc/cni/net.d /etc/kubernetes /etc/modules-load.d " +
	"/etc/sysctl.d /etc/systemd /etc/systemd/system /etc/udev/rules.d /opt/cni /opt/cni/bin /usr/bin /usr/lib " +
	"/usr/local /usr/local/bin /usr/share /var/lib /var/log /var/run")

// writtenFile returns the file whose content is in the document.
func writtenFile(v decode.Reading, f FileAsset, content string, isBase64 bool) []FileAsset {
	raw := []byte(content)
	if isBase64 {
		// kOps requires base64 without padding. Most tools write it with padding.
		var err error
		if raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Join(strings.Fields(content), ""),
			"=")); err != nil {
			v.Field("content").Bad("base64, because isBase64 is true", "")
			return nil
		}
	}
	f.Content = blob.Of(raw)
	return []FileAsset{f}
}

// storedFiles returns the file of the store that source names, or all files below it.
func storedFiles(v decode.Reading, f FileAsset, source string, files []blob.Named) []FileAsset {
	byName := func(f blob.Named, name string) int { return strings.Compare(f.Name, name) }
	if i, ok := slices.BinarySearchFunc(files, source, byName); ok {
		f.Content = files[i].Content
		return []FileAsset{f}
	}
	dir := strings.TrimSuffix(source, "/") + "/"
	first, _ := slices.BinarySearchFunc(files, dir, byName)
	end := first
	for end < len(files) && strings.HasPrefix(files[end].Name, dir) {
		end++
	}
	all := make([]FileAsset, end-first)
	for i, stored := range files[first:end] {
		all[i] = f
		all[i].Path, all[i].Content = f.Path+"/"+stored.Name[len(dir):], stored.Content
	}
	if len(all) == 0 {
		names := make([]string, len(files))
		for i := range names {
			names[i] = files[i].Name
		}
		v.Field("source").Bad("a file or directory of the store, below "+FilesDir,
			document.DidYouMean(source, names))
	}
	return all
}

// FilesDir is the directory of the store for the files that documents name with source.
const FilesDir = "files/"

func validFileSource(s string) string {
	if !strings.HasPrefix(s, FilesDir) || !fs.ValidPath(strings.TrimSuffix(s, "/")) || !decode.Printable(s) {
		return "a path in the store such as " + FilesDir + "motd, or a directory such as " + FilesDir + "conf.d/"
	}
	return ""
}

// fileMode reads permission bits in octal: "0644", or 0644 without quotes. It refuses 644 without
// quotes, which could be meant as decimal.
func fileMode(to *fs.FileMode) decode.Set {
	return func(v decode.Reading) {
		const expected = `permission bits in octal, such as "0644"`
		digits := strings.TrimPrefix(v.Text, "0o")
		mode, err := strconv.ParseUint(digits, 8, 32)
		switch {
		case v.Kind == document.KindInt && !strings.HasPrefix(v.Text, "0") && err == nil && len(digits) == 3:
			v.Bad(expected, fmt.Sprintf("write \"0%s\"", digits))
		case v.Kind != document.KindString && v.Kind != document.KindInt || err != nil || len(digits) < 3 ||
			len(digits) > 4:
			v.Bad(expected, "")
		case mode > 0o777:
			v.Bad(expected, "setuid, setgid and sticky bits are not supported")
		default:
			*to = fs.FileMode(mode)
		}
	}
}

// MarshalJSON leaves out the content.
func (f FileAsset) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name    string          `json:"name,omitempty"`
		Path    string          `json:"path"`
		Bytes   int64           `json:"bytes"`
		Mode    string          `json:"mode"`
		Owner   string          `json:"owner,omitempty"`
		Secret  bool            `json:"secret"`
		Refused string          `json:"refused,omitempty"`
		Origin  document.Origin `json:"origin"`
	}{f.Name, f.Path, f.Content.Size, fmt.Sprintf("%04o", f.Mode), f.Owner, f.Secret, f.Refused, f.Origin})
}

func validOwner(s string) string {
	user, group, both := strings.Cut(s, ":")
	if !validAccount(user) || both && !validAccount(group) {
		return "a user, or user:group, by name or number"
	}
	return ""
}

func validAccount(s string) bool {
	return s != "" && len(s) <= 32 && s[0] != '-' &&
		strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-.$") == ""
}

// FileAsset is a file that the user wants on the node (kOps' fileAssets). Its JSON shows everything
// but the content.
type FileAsset struct {
	// Name: Sets the name for the default of `path`.
	Name string
	// Path: Sets the path of the file. The default is /srv/kubernetes/assets/<name>.
	Path string
	// Content: Sets the content of the file. Set either `content` or `source`. The agent never
	// prints it.
	Content blob.Content
	// Mode: Sets the mode of the file. The default is 0440, as in kOps.
	Mode fs.FileMode
	// Owner: Sets the owner as user or user:group, by name or number. The default is root.
	Owner string
	// Secret: true keeps the content out of plans and diffs. It is the default if the mode keeps
	// others from reading the file.
	Secret bool
	// Refused is why the file fails on this node. The documents should not have it.
	Refused string
	Origin  document.Origin
}

// inlineSecret reports a secret in a document, where documents are checked before they are
// published, because every node receives all documents. For kOps' documents it only warns, because
// they have no other place for a secret.
func inlineSecret(v decode.Reading) {
	diag := document.Diagnostic{ID: problem.KeypairExposed,
		Summary:  v.Path + " is a secret, and every node receives the document that it is in",
		Expected: "a file below files/ of the store, which no node reads but those that use it: source: NAME",
		Hint:     "if anybody may read it: secret: false"}
	switch {
	case v.Checks && !v.Doc.Dialect.Lenient:
		v.Error(diag)
	case v.Checks:
		v.Warn(diag)
	}
}
