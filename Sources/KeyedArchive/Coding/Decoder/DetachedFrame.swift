/// A place in the archive that is read beside the current one: a nested container or a super decoder.
final class DetachedFrame {
    var frame: DecoderFrame
    /// What the bytes of the frame may lie in.
    private let surroundings: FrameExtras?

    init(_ frame: DecoderFrame, in surroundings: FrameExtras?) {
        self.frame = frame
        self.surroundings = surroundings
    }

    deinit {
        frame.dispose()
    }
}
