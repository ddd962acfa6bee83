#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A string or bytes of a property list.
enum PlistLeaf {
    case string(String)
    /// UTF-16 with unpaired surrogates.
    case brokenString([UInt16])
    case data(Data)
}
