/// A position in the archive that is read independently: a nested container or a super decoder.
final class DetachedFrame: DetachedPlace {
    /// The frame; while it is in use, the one that it took the place of.
    var frame: DecoderFrame
    /// Keeps the rewritten bytes, if the frame reads from them.
    private let surroundings: FrameExtras?

    init(
        _ frame: DecoderFrame, in surroundings: FrameExtras?, at step: ArchiveError.Step?, of outerSerial: Int,
        _ outer: DetachedFrame?
    ) {
        self.frame = frame
        self.surroundings = surroundings
        super.init(serial: frame.serial, step: step, outerSerial: outerSerial, outer: outer)
    }

    deinit {
        frame.dispose()
    }
}
