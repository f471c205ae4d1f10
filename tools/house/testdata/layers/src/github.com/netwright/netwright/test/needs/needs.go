package needs
