package facts

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// unitCommand is a service's command line as systemd builds it.
type unitCommand struct {
	line      string   // as written, on one line
	args      []string // with variables expanded
	variables []string // the $NAME words of the line, in order; each becomes several words
	preceding []int    // for each of args, the number of variables before it
	envFiles  []string
	env       map[string]string
}

// commandOf reads a service's first ExecStart= with its environment (systemd.service(5), COMMAND
// LINES). It does not expand specifiers (%n).
func commandOf(u systemd.UnitFile, f hostfs.Files) unitCommand {
	env := map[string]string{}
	c := unitCommand{env: env}
	for _, assignment := range environment(u) {
		name, value, _ := strings.Cut(assignment, "=")
		env[name] = value
	}
	for _, pattern := range u.Values("Service", "EnvironmentFile") {
		for _, file := range glob(f, strings.TrimPrefix(pattern, "-")) {
			c.envFiles = append(c.envFiles, file)
			if raw, err := f.ReadFile(file); err == nil {
				maps.Copy(env, ParseAssignments(raw))
			}
		}
	}
	starts := u.Values("Service", "ExecStart")
	if len(starts) == 0 {
		return c
	}
	c.line = sys.FoldSpace(starts[0])
	for i, word := range splitCommand(starts[0]) {
		if i == 0 {
			word = strings.TrimLeft(word, "@-:+!|")
		}
		words, before := []string{expand(word, env)}, len(c.variables)
		if name, ok := strings.CutPrefix(word, "$"); ok && isName(name) {
			words, c.variables = splitCommand(env[name]), append(c.variables, name)
		}
		for _, arg := range words {
			c.args, c.preceding = append(c.args, arg), append(c.preceding, before)
		}
	}
	return c
}

// environment returns the assignments in a service's Environment= lines.
func environment(unit systemd.UnitFile) (out []string) {
	for _, line := range unit.Values("Service", "Environment") {
		for _, word := range splitCommand(line) {
			if strings.Contains(word, "=") {
				out = append(out, word)
			}
		}
	}
	return out
}

// dashed returns the command line with dashes in flag names, because kubelet accepts --max_pods for
// --max-pods.
func (c unitCommand) dashed() unitCommand {
	c.args = slices.Clone(c.args)
	for i, arg := range c.args {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "--") {
			c.args[i] = strings.ReplaceAll(name, "_", "-") + arg[len(name):]
		}
	}
	return c
}

// flags returns all --name=value and --name value flags; of one name only the last.
func (c unitCommand) flags() (out []FlagFact) {
	for i, arg := range c.args {
		arg, ok := strings.CutPrefix(arg, "--")
		name, value, has := strings.Cut(arg, "=")
		if !ok || name == "" {
			continue
		}
		if !has && i+1 < len(c.args) && !strings.HasPrefix(c.args[i+1], "-") {
			value = c.args[i+1]
		}
		out = slices.DeleteFunc(out, func(f FlagFact) bool { return f.Name == name })
		out = append(out, FlagFact{Name: name, Value: value, Overrides: append([]string(nil), c.variables[:c.preceding[i]]...)})
	}
	return out
}

// flag returns the last value of a flag with one of these names.
func (c unitCommand) flag(names ...string) string {
	values := c.values(names...)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// values returns the values of a flag with one of these names, after one or two dashes:
// --name=value or --name value.
func (c unitCommand) values(names ...string) (values []string) {
	for i, arg := range c.args {
		word, dash := strings.CutPrefix(arg, "-")
		name, given, has := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		switch {
		case !dash || !slices.Contains(names, name):
		case has:
			values = append(values, given)
		case i+1 < len(c.args):
			values = append(values, c.args[i+1])
		}
	}
	return values
}

// option returns the last value of a flag, or else that of its environment variable.
func (c unitCommand) option(variable string, names ...string) string {
	return cmp.Or(c.flag(names...), c.env[variable])
}

// glob lists the files that match a pattern, or returns the name itself if it is no pattern.
func glob(f hostfs.Files, pattern string) (out []string) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}
	}
	dir, base := path.Split(pattern)
	for _, dir := range glob(f, path.Clean(dir)) {
		names, err := f.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if ok, err := path.Match(base, name); ok && err == nil {
				out = append(out, path.Join(dir, name))
			}
		}
	}
	slices.Sort(out)
	return out
}

// filesBelow lists the files in a directory and its subdirectories. The names of each directory are
// sorted, and the files of a subdirectory come at the place of its name.
func filesBelow(f hostfs.Files, dir string) (out []string) {
	names, err := f.ReadDir(dir)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		file := path.Join(dir, name)
		if info, err := f.Lstat(file); err == nil && info.Type == hostfs.Directory {
			out = append(out, filesBelow(f, file)...)
		} else {
			out = append(out, file)
		}
	}
	return out
}

// splitCommand splits a command at white space outside of quotes, and removes quotes and
// backslashes.
func splitCommand(s string) (words []string) {
	var word []byte // nil: no word has begun
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0 {
			if word != nil {
				words = append(words, string(word))
			}
			word = nil
			continue
		}
		if word == nil {
			word = []byte{}
		}
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			word = append(word, s[i])
		default:
			word = append(word, c)
		}
	}
	if word != nil {
		words = append(words, string(word))
	}
	return words
}

var variable = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z_0-9]*)\}`)

// expand replaces every ${NAME} in a word.
func expand(word string, env map[string]string) string {
	return variable().ReplaceAllStringFunc(word, func(v string) string { return env[v[2:len(v)-1]] })
}

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
