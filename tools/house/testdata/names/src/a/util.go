package util // want `package util: name it for what it does`
