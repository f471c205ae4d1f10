package b // want package:"package b"

type (
	Node   struct{}
	Reader struct{}
	Alias  struct{}
	Other  struct{}
	own    struct{}
)
