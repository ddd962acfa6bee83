/// A position in the archive that is read independently: a nested container or a super decoder.
final class DetachedFrame {
    var frame: DecoderFrame
    /// Keeps the rewritten bytes, if the frame reads from them.
    private let surroundings: FrameExtras?

    init(_ frame: DecoderFrame, in surroundings: FrameExtras?) {
        self.frame = frame
        self.surroundings = surroundings
    }

    deinit {
        frame.dispose()
    }
}
