package house

import (
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Layers holds the packages to the direction in which they may know each other.
var Layers = rule("layers", "packages import downwards: cmd → {cli, daemon} → reconcile → {model, ledger, …} → {tasks, config} → host; graph is a leaf", layers)

const layersWhy = "the tree is the architecture (docs/adr/0001): a package that only knows what is below it can be understood and tested without what is above"

var (
	anywhere = []string{"blob", "problem", "secret", "lazyregexp", "generation", "plural"} // what all use, and that knows nothing
	bottom   = []string{"archive", "host", "graph", "certs", "systemd"}                    // know none of ours but that, nor each other: host alone knows archive, archive inflate
	middle   = append([]string{"tasks", "config"}, bottom...)
	upper    = append([]string{"ec2", "kube", "inbound", "cleanup", "model", "ledger", "statestore", "report", "publish", "verify", "checkpoint", "control", "service"}, middle...)
)

// allowed says what each component of ours may import, itself apart. tasks, and what stands above,
// speak of keys and of transient errors in graph's words; config does not need them.
var allowed = map[string][]string{
	"blob":       nil,
	"problem":    nil,
	"secret":     nil,
	"lazyregexp": nil,
	"generation": nil,
	"plural":     nil,
	"inflate":    nil,
	"archive":    {"inflate"},
	"host":       {"archive"}, // of a batch members are unpacked into
	"graph":      nil,
	"systemd":    nil, // the unit files as shipped: data
	"certs":      nil,
	"config":     {"host"},
	"kube":       {"graph"},               // transient errors are said in graph's words
	"inbound":    {"kube", "publish"},     // Nodes that ask, and of a status the node's own name
	"ec2":        {"graph", "statestore"}, // of the store how servers are asked
	"tomledit":   nil,
	"tasks":      append([]string{"tomledit"}, bottom...),
	"cleanup":    {"tasks", "graph", "host", "config"},   // what it finds it names by the keys of tasks; of documents the selectors
	"model":      append([]string{"cleanup"}, middle...), // a network lists what it leaves
	"ledger":     middle,
	"statestore": append([]string{"kube"}, middle...),
	"report":     middle,
	"publish":    append([]string{"kube", "report"}, middle...),   // what it carries is a status
	"verify":     append([]string{"cleanup", "model"}, middle...), // what it holds a node to is a network
	"checkpoint": middle,
	"control":    {"host", "report"},                                    // what it carries is a report
	"service":    {"host", "config", "report", "publish", "control"},    // the agent's own unit
	"reconcile":  slices.Concat(upper, slices.Sorted(maps.Keys(inner))), // a pass
	"daemon":     slices.Concat([]string{"reconcile"}, upper, slices.Sorted(maps.Keys(inner))),
	"cli":        slices.Concat([]string{"reconcile"}, upper, slices.Sorted(maps.Keys(inner))), // what verbs share
	"reset":      slices.Concat(upper, slices.Sorted(maps.Keys(inner))),
	"check":      slices.Concat([]string{"reconcile/changes", "reconcile/desired"}, upper),
	"takeover":   slices.Concat([]string{"reconcile/changes"}, upper),
	"mirror":     slices.Concat([]string{"check", "reconcile/desired"}, upper),
	"install":    slices.Concat([]string{"reconcile/changes", "reconcile/execute"}, upper),
	"bootstrap":  {"config", "host"},
	"support":    nil, // what it packs its caller brings
	"cmd": slices.Concat([]string{"cli", "daemon", "reconcile", "reset", "check", "mirror", "takeover", "install", "bootstrap", "support"},
		upper, slices.Sorted(maps.Keys(inner))),
}

// inner says the same of packages below a component that are none of its parts: they know what the
// component does not.
var inner = map[string][]string{
	"kube/access":         {"graph", "kube", "inbound", "host"}, // as whom this node asks
	"certs/issue":         {"certs", "config", "graph", "host", "kube", "kube/access", "ledger", "model", "report", "tasks"},
	"reconcile/desired":   {"certs", "certs/issue", "cleanup", "config", "graph", "host", "ledger", "model", "report", "statestore", "tasks"},
	"reconcile/changes":   {"config", "graph", "host", "ledger", "model", "report", "tasks"},
	"reconcile/starts":    {"graph", "host", "reconcile/changes", "service", "tasks"},
	"reconcile/drift":     {"config", "graph", "host", "ledger", "model", "reconcile/changes", "reconcile/desired", "reconcile/starts", "report", "tasks"},
	"reconcile/execute":   {"graph", "host", "ledger", "reconcile/changes", "reconcile/drift", "reconcile/fetch", "reconcile/starts", "tasks"},
	"reconcile/fetch":     {"archive", "graph", "host", "ledger", "reconcile/changes", "tasks"},
	"reconcile/history":   {"checkpoint", "graph", "host", "ledger", "model", "report", "tasks"},
	"reconcile/discover":  {"config", "graph", "host", "kube", "kube/access", "ledger", "model", "reconcile/desired", "report", "tasks"},
	"reconcile/ownership": {"checkpoint", "config", "graph", "host", "ledger", "model", "reconcile/changes", "reconcile/desired", "reconcile/drift", "reconcile/starts", "report", "tasks"},
	"reconcile/migrate":   {"checkpoint", "cleanup", "config", "graph", "host", "ledger", "model", "reconcile/changes", "reconcile/desired", "reconcile/ownership", "report", "tasks"},
	"reconcile/revert":    {"checkpoint", "graph", "host", "ledger", "reconcile/ownership", "tasks"},
	"reconcile/guard":     {"checkpoint", "graph", "host", "inbound", "kube/access", "ledger", "reconcile/changes", "reconcile/ownership", "reconcile/revert", "report", "tasks"},
	"reconcile/rollout":   {"checkpoint", "config", "host", "kube", "kube/access", "ledger", "model", "reconcile/desired", "reconcile/migrate", "reconcile/ownership", "report", "statestore", "tasks"},
	"reconcile/session":   {"checkpoint", "host", "kube/access", "ledger", "reconcile/history", "reconcile/revert", "report"},
	"reconcile/probation": {"config", "graph", "host", "ledger", "model", "reconcile/changes", "reconcile/desired", "reconcile/starts", "report", "service", "tasks"},
}

// imports is what a component may import; false: it has no line.
func imports(component string) ([]string, bool) {
	if list, ok := inner[component]; ok {
		return list, true
	}
	list, ok := allowed[component]
	return list, ok
}

// siblings says what each package below pkg/host, pkg/config or pkg/checkpoint may import of the
// others there. The package above them puts them together and may import all.
var siblings = map[string]map[string][]string{
	"checkpoint": {
		"firstboot": {"probe", "undo"},
		"probe":     nil,
		"undo":      nil,
	},
	"config": {
		"agentfile": {"decode", "document"},
		"decode":    {"document", "values"},
		"document":  nil,
		"extras":    {"decode", "document", "kops", "values"},
		"kops":      {"decode", "document", "values"},
		"networks":  {"decode", "document", "values"},
		"policy":    {"decode", "document", "values"},
		"values":    nil,
	},
	"host": {
		"accounts":        nil,
		"cri":             {"internal/sys"},
		"facts":           {"cri", "firewall", "hostfs", "hostpath", "internal/sys", "kernel", "rtnl", "systemd"}, // the readers
		"firewall":        {"internal/sys"},
		"hostfs":          {"accounts", "hostpath", "selinux", "xattr"}, // the owners of files, and their labels
		"hostfs/head":     nil,
		"hostfs/prefetch": {"hostfs"},
		"hostfs/spool":    {"hostfs"},
		"hostfs/userfile": {"hostfs"},
		"hostpath":        {"internal/sys", "selinux", "xattr"}, // what it makes on the way gets its label
		"internal/sys":    nil,
		"ipc":             {"hostfs", "hostpath", "internal/sys"}, // where its files are
		"kernel":          {"internal/sys"},
		"netstate":        {"internal/sys", "rtnl"},
		"residue":         {"internal/sys"},
		"rtnl":            {"hostfs", "hostpath", "internal/sys"}, // files of namespaces
		"sandbox":         {"internal/sys"},                       // what is mounted
		"selinux":         nil,
		"systemd":         {"internal/sys"},
		"watch":           {"firewall", "internal/sys", "kernel", "rtnl", "systemd"}, // the names of what is watched
		"xattr":           nil,
	},
	"statestore": {
		"assets":      {"", "transfer"},
		"directory":   {"", "manifest", "objectstore", "trust"},
		"https":       {"objectstore", "transfer"},
		"keypairs":    {"manifest"}, // the names of its files
		"kubernetes":  {"objectstore"},
		"manifest":    {"objectstore", "trust"},
		"objectstore": nil,
		"publisher":   {"directory", "manifest", "objectstore", "trust"},
		"remote":      {"", "manifest", "objectstore", "transfer", "trust"},
		"s3":          {"objectstore", "transfer"},
		"stores":      {"", "directory", "https", "kubernetes", "manifest", "objectstore", "remote", "s3", "trust"},
		"transfer":    nil,
		"trust":       nil,
	},
	"verify": {
		"probe":   nil,
		"testpod": {"probe"},
		"traffic": {"", "probe", "testpod"}, // of what is above it the form of a result
	},
}

// pure lists imports that a component must not have, and why. An ending of /... takes in what lies
// below.
var pure = []struct {
	component string
	imports   []string
	why       string
}{
	{"model", []string{"os/...", "io/ioutil", "syscall", "golang.org/x/sys/...", "net", "net/http/..."},
		"the model is pure: the same documents and facts give the same tasks, which golden tests pin"},
	{"report", []string{"os/...", "syscall", "golang.org/x/sys/...", "net/http/..."}, "a report is pure: it writes to the writer that it is given"},
	{"bootstrap", []string{"os/...", "syscall", "golang.org/x/sys/...", "net/http/..."}, "user-data is text made of settings, on any machine"},
	{"graph", []string{"os/...", "syscall", "golang.org/x/sys/...", "net/..."}, "the graph knows nothing of what its nodes are"},
}

func layers(p *pass) {
	at, ours := p.within()
	own := component(at)
	if !ours || own == "" {
		return
	}
	if _, known := imports(own); !known {
		p.say(p.Files[0].Package, "package %s has no place in the architecture: give it one in docs/adr and in tools/house/layers.go (known: %s); %s",
			at, strings.Join(slices.Sorted(maps.Keys(allowed)), ", "), layersWhy)
		return
	}
	beside := siblings[own]
	sub, isBelow := strings.CutPrefix(at, "pkg/"+own+"/")
	isBelow = isBelow && beside != nil
	if _, known := beside[sub]; isBelow && !known {
		p.say(p.Files[0].Package, "package %s has no place below pkg/%s: give it one in tools/house/layers.go (known: %s); %s",
			at, own, strings.Join(slices.Sorted(maps.Keys(beside)), ", "), layersWhy)
		return
	}
	for _, f := range p.sources() {
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if name, ok := strings.CutPrefix(path, module+"/"); ok {
				p.layer(spec.Pos(), own, name)
				other, ok := strings.CutPrefix(name, "pkg/"+own)
				if ok && isBelow && component(name) == own && !slices.Contains(beside[sub], strings.TrimPrefix(other, "/")) {
					p.say(spec.Pos(), "%s imports %s, which is not below it: pass what is needed as a value or a small interface; %s", at, name, layersWhy)
				}
				continue
			}
			for _, rule := range pure {
				if rule.component == own && slices.ContainsFunc(rule.imports, func(banned string) bool { return matches(path, banned) }) {
					p.say(spec.Pos(), "%s imports %s: get it from the caller; %s", own, path, rule.why)
				}
			}
		}
	}
}

// layer checks one import of ours.
func (p *pass) layer(pos token.Pos, own, imported string) {
	other := component(imported)
	may, _ := imports(own)
	switch {
	case other == "":
		p.say(pos, "%s imports %s, which runs on a developer's machine and never on a node: move what is needed under pkg", own, imported)
	case other != own && !slices.Contains(anywhere, other) && !slices.Contains(may, other):
		p.say(pos, "%s imports %s, which is not below it: pass what is needed as a value or a small interface; %s", own, other, layersWhy)
	}
}

// matches tells that an import is the banned one.
func matches(path, banned string) bool {
	dir, tree := strings.CutSuffix(banned, "/...")
	return path == dir || tree && below(path, dir)
}

// component is what a package belongs to: "host" for pkg/host/x, "reconcile/desired" for an inner
// one, "cmd" for cmd/agent, "" for a workshop.
func component(path string) string {
	if rest, ok := strings.CutPrefix(path, "pkg/"); ok {
		if _, known := inner[rest]; known {
			return rest
		}
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	for _, top := range []string{"cmd", "systemd"} {
		if below(path, top) {
			return top
		}
	}
	return ""
}
