"""Where the user's annotations went on the device. (design.md, "Propagation")"""
