package large // want `package pkg/large has 5 files and 15 lines, at most 4 and 1000: give what its files share a package below, or break the circle of a.go, b.go, c.go, d.go, e.go; a newcomer reads a package as a whole`

func a() { b() }
