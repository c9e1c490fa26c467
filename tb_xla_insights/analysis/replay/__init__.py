"""What a fix would gain: the capture replayed without some of its costs."""
