package netlink

func LinkList() {}
