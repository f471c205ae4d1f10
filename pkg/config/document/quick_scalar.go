package document

import "strings"

// literal reads a block that begins with | or |-, and advances to the line after it.
func (q *quick) literal(header string, column, at int) *Value {
	if header != "|" && header != "|-" || !strings.HasSuffix(q.text, "\n") {
		return nil
	}
	v := q.new(KindString, column+1)
	v.Quoted = true
	start, indent, size, blank := q.next, -1, 0, 0
lines:
	for q.next < len(q.text) {
		before, line := q.next, q.line
		text := q.take()
		if text == "" {
			if indent < 0 {
				return nil
			}
			blank++
			continue
		}
		content := strings.TrimLeft(text, " ")
		by := len(text) - len(content)
		switch {
		case content == "":
			return nil
		case indent < 0 && by > at:
			indent = by
		case indent >= 0 && by >= indent:
		case indent < 0 || by > at || content[0] == '#':
			return nil
		default:
			q.next, q.line = before, line
			break lines
		}
		size += blank + len(text) - indent + 1
		blank = 0
	}
	if indent < 0 {
		return nil
	}
	v.Text = unindent(q.text[start:q.next], indent, size)
	if header == "|-" {
		v.Text = v.Text[:len(v.Text)-1]
	}
	if !q.advance() || q.indent > at {
		return nil
	}
	return v
}

// unindent removes the indentation from each line. The result is size bytes long and ends with one
// line end.
func unindent(block string, indent, size int) string {
	var out strings.Builder
	out.Grow(size)
	for out.Len() < size {
		end := strings.IndexByte(block, '\n') + 1
		if end > 1 {
			out.WriteString(block[indent:end])
		} else {
			out.WriteByte('\n')
		}
		block = block[end:]
	}
	return out.String()
}

// flow reads scalars and flow collections within one line.
type flow struct {
	*quick
	line   string // the rest of the line
	offset int    // the column of the rest's first byte, from 0
	braces int    // the number of open {
}

func (f *flow) skip(n int) {
	f.line = f.line[n:]
	blanks := len(f.line) - len(strings.TrimLeft(f.line, " "))
	f.line = f.line[blanks:]
	f.offset += n + blanks
}

// done reports whether nothing but a comment is left.
func (f *flow) done() bool { return f.line == "" || f.line[0] == '#' }

func (f *flow) value(within bool, depth int) *Value {
	if f.line == "" || depth > maxDepth/2 {
		return nil
	}
	switch f.line[0] {
	case '[':
		return f.list(depth)
	case '{':
		f.braces++
		v := f.mapping(depth)
		f.braces--
		return v
	case '"', '\'':
		return f.quotedText(within)
	}
	return f.plain(within)
}

func (f *flow) list(depth int) *Value {
	v := f.new(KindList, f.offset+1)
	for f.skip(1); !strings.HasPrefix(f.line, "]"); {
		item := f.value(true, depth+1)
		if item == nil || !f.comma(']') || len(v.Items) == maxEntries {
			return nil
		}
		v.Items = append(v.Items, item)
		v.size += item.size
	}
	f.skip(1)
	return v
}

func (f *flow) mapping(depth int) *Value {
	v := f.new(KindMap, f.offset+1)
	for f.skip(1); !strings.HasPrefix(f.line, "}"); {
		key, rest := cutKey(f.line)
		if key == "" || rest == "" || v.Index(key) >= 0 || len(v.Entries) == maxFields {
			return nil
		}
		e := Entry{Key: key, width: len(key), Pos: Pos{f.quick.line, f.offset + 1}}
		f.skip(len(f.line) - len(rest))
		if e.Value = f.value(true, depth+1); e.Value == nil || !f.comma('}') {
			return nil
		}
		v.Entries = append(v.Entries, e)
		v.size += e.Value.size
	}
	f.skip(1)
	return v
}

// comma skips one comma. The last item of a collection must not have a comma after it.
func (f *flow) comma(end byte) bool {
	switch {
	case f.line == "":
		return false
	case f.line[0] == end:
		return true
	case f.line[0] != ',':
		return false
	}
	f.skip(1)
	return f.line != "" && f.line[0] != end && f.line[0] != ','
}

func (f *flow) quotedText(within bool) *Value {
	quote := f.line[0]
	end := strings.IndexByte(f.line[1:], quote) + 1
	if end == 0 || strings.IndexByte(f.line[:end], '\\') >= 0 {
		return nil
	}
	after := f.line[end+1:]
	if after != "" && after[0] != ' ' && !(within && strings.IndexByte(",]}", after[0]) >= 0) {
		return nil
	}
	v := f.new(KindString, f.offset+1)
	v.Text, v.Quoted = f.line[1:end], true
	f.skip(end + 1)
	return v
}

// plain reads an unquoted scalar. It gives up at any character that could have another meaning.
func (f *flow) plain(within bool) *Value {
	end := 0
	for ; end < len(f.line); end++ {
		c := f.line[end]
		if c == ' ' && end+1 < len(f.line) && f.line[end+1] == '#' || within && (c == ',' || c == ']' || c == '}') {
			break
		}
		if c == ':' && (end+1 == len(f.line) || f.line[end+1] == ' ' || f.braces > 0) ||
			!isWord(c) && strings.IndexByte(" ./-+:=,@()~;$^<>", c) < 0 {
			return nil
		}
	}
	word := strings.TrimRight(f.line[:end], " ")
	if word == "" || !isWord(word[0]) && (strings.IndexByte("/.+-", word[0]) < 0 || len(word) > 1 && word[1] == ' ') {
		return nil
	}
	k, ok := plainKind(word)
	if !ok || word == "-" {
		return nil
	}
	v := f.new(k, f.offset+1)
	v.Text = word
	f.skip(end)
	return v
}
