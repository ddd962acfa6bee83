internal import CPortShims

extension ChildProcess {
    /// The further descriptors of a program, and the variable that tells it their names.
    struct PassedNames {
        private static let most = 100

        private let descriptors: [CInt]
        let variables: [String: String]

        /// - Parameter first: The number of the first one in the program.
        /// - Throws: `launchFailed` if a name is not allowed, or there are too many.
        init(_ descriptors: [String: CInt], first: CInt) throws(TransportError) {
            let names = descriptors.keys.sorted()
            self.descriptors = names.compactMap { descriptors[$0] }
            guard !names.isEmpty else {
                variables = [:]
                return
            }
            guard names.count <= Self.most else {
                throw TransportError(.launchFailed, "at most \(Self.most) descriptors are passed to a program")
            }
            for name in names where !Self.isAllowed(name) {
                throw TransportError(
                    .launchFailed,
                    "“\(name)” cannot be the name of a descriptor: it has 1 to 255 visible characters of ASCII and no colon"
                )
            }
            variables = [descriptorsVariable: "\(first):\(names.joined(separator: ":"))"]
        }

        private static func isAllowed(_ name: String) -> Bool {
            1...255 ~= name.utf8.count && name.utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: ":") }
        }

        /// Copies that are numbered above all descriptors of the program, in the order of the names; the caller closes them.
        func copies() throws(TransportError) -> [CInt] {
            var copies: [CInt] = []
            do throws(TransportError) {
                for descriptor in descriptors {
                    copies.append(try duplicate(descriptor, least: CInt(10 + descriptors.count)))
                }
                return copies
            } catch {
                for copy in copies { port_close(copy) }
                throw error
            }
        }
    }

    /// The descriptors that this process was launched with, besides its connection and its standard streams.
    static let passedDescriptors = PassedDescriptors {
        guard let text = ProcessEnvironment.take(descriptorsVariable) else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let first = CInt(parts[0]), first > 2, parts.count > 1, first <= CInt.max - CInt(clamping: parts.count)
        else { return [] }
        return PassedDescriptors.open(from: first, count: CInt(parts.count - 1), Array(parts.dropFirst()))
    }

    /// Returns, in a launched program, a descriptor that the program that launched it has passed under a name.
    ///
    /// Each is returned once, and is close-on-exec.
    ///
    /// - Parameter name: The name in ``Options/descriptors``.
    /// - Returns: The descriptor, which the caller owns from now on.
    /// - Throws: `TransportError.notFound` if none of that name was passed, or it was taken.
    public static func takeDescriptor(named name: String) throws(TransportError) -> Int32 {
        let (taken, left) = passedDescriptors.take(named: name)
        guard let taken else {
            let others = left.isEmpty ? "" : ", but \(left.joined(separator: ", "))"
            throw TransportError(
                .notFound, "this process was given no descriptor of that name\(others)", context: [name])
        }
        return taken.descriptor
    }
}
