extension ObjectDecoder {
    /// The steps from the value that the archive's reader asked for to the value of a frame.
    ///
    /// The path of an object is the one on which it was met first.
    ///
    /// - Complexity: Linear in the depth.
    func path(ofFrame serial: Int, _ detached: DetachedPlace?) -> [ArchiveError.Step] {
        CodingPlaces(levels: state.levels.levels, depth: state.depth, active: state.detached) { $0.elementStep }
            .path(of: serial, detached)
    }
}
