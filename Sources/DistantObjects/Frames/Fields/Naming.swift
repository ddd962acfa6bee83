/// How a message name, a shape or a class is written.
enum Naming {
    /// By the number that it has.
    case known(UInt32)
    /// In full; it gets the next number.
    case new
    /// In full, without a number.
    case inline
}
