package flat

func Fc() {}
